/** A message that the project did not sign, or signed too long ago. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

const TOLERANCE_SECONDS = 300;

/** Return a message whose signature fits one of the secrets, as Standard Webhooks says. */
async function verified<Message>(
  secrets: string | readonly string[],
  headers: WebhookHeaders,
  body: string,
): Promise<Message> {
  const find = (name: string) =>
    String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const [id, at] = [find("webhook-id"), find("webhook-timestamp")];
  if (!id || !/^[0-9]{1,12}$/.test(at)) throw new WebhookError("a header is missing");
  if (Math.abs(Date.now() / 1000 - Number(at)) > TOLERANCE_SECONDS) {
    throw new WebhookError("it was signed too long ago");
  }
  const signed = new TextEncoder().encode(`${id}.${at}.${body}`);
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const raw = bytesOf(secret.replace(/^whsec_/, ""));
    const key = await crypto.subtle.importKey("raw", raw, hmac, false, ["verify"]);
    for (const one of find("webhook-signature").split(" ").slice(0, 10)) {
      const signature = one.startsWith("v1,") ? bytesOf(one.slice(3)) : null;
      if (signature && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
        return JSON.parse(body) as Message;
      }
    }
  }
  throw new WebhookError("the signature does not fit");
}

function bytesOf(base64: string) {
  try {
    return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  } catch {
    throw new WebhookError("a signature or secret is not base64");
  }
}
