// What the libraries of npm sign and verify. node webhooks.mjs sign SECRET < BODY prints headers by
// scheme; node webhooks.mjs verify SECRET < {"headers", "body"} prints what standardwebhooks says.
import { readFileSync } from "node:fs";
import { sign } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";

const [what, secret] = process.argv.slice(2);
const given = readFileSync(0, "utf8");

if (what === "sign") {
  const now = new Date(), id = "msg_npm";
  const standard = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(id, now, given),
  };
  const stripe = {
    "stripe-signature": new Stripe("sk_test_none").webhooks.generateTestHeaderString({
      payload: given, secret,
    }),
  };
  const github = {
    "x-hub-signature-256": await sign(secret, given), "x-github-delivery": "npm",
  };
  console.log(JSON.stringify({ standard, stripe, github }));
} else {
  const { headers, body } = JSON.parse(given);
  const found = new Webhook(secret).verify(body, headers);
  let refused = "";
  try {
    new Webhook(secret).verify(`${body} `, headers);
  } catch (error) {
    refused = error.message;
  }
  console.log(JSON.stringify({ found, refused }));
}
