// What a person does in a browser: look at a page, and press a button of its form.
export async function agree(page, action, cookie, decision = "approve") {
  const text = await (await fetch(page, { headers: { cookie } })).text();
  const body = new URLSearchParams({ decision });
  for (const [, name, value] of text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g))
    body.set(name, value.replaceAll("&amp;", "&"));
  const headers = { cookie, "content-type": "application/x-www-form-urlencoded" };
  return fetch(action, { method: "POST", headers, body, redirect: "manual" });
}
