"""Link `auth.providers` of project.yaml: the routes at which users sign in elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bbops.runtime.flow.run import Answer
from bbops.runtime.http.in_flight import TIMEOUT_SECONDS, ActiveRequest
from bbops.runtime.http.rate_limits import SIGN_INS_PER_ADDRESS
from bbops.runtime.http.responses import Answering
from bbops.runtime.http.session_cookies import CookieRules, SessionCookies
from bbops.runtime.identities.accounts import Accounts, Profile
from bbops.runtime.identities.github import GitHub
from bbops.runtime.identities.kinds import PATH, KindName, Settings
from bbops.runtime.identities.oidc import Apple, Oidc
from bbops.runtime.identities.routes import MOST_BYTES, Provider, SignIn, read_callback
from bbops.runtime.identities.started import Seal
from bbops.runtime.linking.functions import resolve
from bbops.runtime.linking.lasting import Lasting
from bbops.runtime.linking.pipeline import Pipeline, Policy
from bbops.runtime.linking.webhooks import no_function
from bbops.runtime.values.failures import FlowError

Env = Mapping[str, str | None]
_CLASSES: Mapping[KindName, Callable[..., Provider]] = {
    "google": Oidc, "microsoft": Oidc, "oidc": Oidc, "apple": Apple, "github": GitHub,
}  # fmt: skip


class SignInPipeline(Pipeline):
    """The way of a browser to a provider, or back from it."""

    __slots__ = ("is_back", "sign_in")

    def __init__(
        self, sign_in: Callable[[], SignIn], policy: Policy, answering: Answering, *, is_back: bool
    ) -> None:
        super().__init__(no_function(policy.endpoint), policy, answering)
        self.sign_in, self.is_back = sign_in, is_back

    async def run(
        self, scope: Any, receive: Any, params: dict[str, str], active: ActiveRequest
    ) -> Answer:  # fmt: skip
        """Answer with a redirect; as `Pipeline.run`."""
        del params
        run = self.answering.run()
        run.trace = active
        if self.admit is not None:
            self.admit(run, scope)
        sign_in = self.sign_in()
        if not self.is_back:
            active.is_read = True
            return await sign_in.begin(run, scope)
        texts = await read_callback(scope, receive, posts=sign_in.provider.posts)
        active.is_read = True
        return await sign_in.finish(run, scope, texts)


def link_sign_ins(
    data: Mapping[str, Any], env: Env, answering: Answering, lasting: Lasting, base_url: str
) -> Iterator[tuple[str, str, SignInPipeline]]:
    """Yield method, path and target of each route of the providers."""
    auth, session = data["auth"], data["session"]
    accounts = Accounts(_profile(auth["profile"]))
    for one in auth["providers"]:
        sign_in = _sign_in(one, auth, session, env, answering, accounts, base_url.rstrip("/"))
        path = PATH + one["name"]
        back = "POST" if one["kind"] == "apple" else "GET"
        for method, where, is_back in (("GET", path, False), (back, f"{path}/callback", True)):
            policy = Policy(
                method=method, path=where, endpoint="", max_body_bytes=MOST_BYTES, uploads=None,
                is_once=False, timeout_seconds=TIMEOUT_SECONDS,
                active_requests=lasting.active_requests, cors=None, authentication="None",
                limit=lasting.limit(
                    f"sign in {where}", SIGN_INS_PER_ADDRESS, answering.host.clock
                ),
                channel="", middleware=(),
            )  # fmt: skip
            yield method, where, SignInPipeline(sign_in, policy, answering, is_back=is_back)


def _sign_in(
    one: Mapping[str, Any], auth: Mapping[str, Any], session: Mapping[str, Any], env: Env,
    answering: Answering, accounts: Accounts, base_url: str,
) -> Callable[[], SignIn]:  # fmt: skip
    """Return what gives a sign-in; without its values nobody signs in there, and the log says why.

    Raises:
        FlowError: a private key is none.
    """
    values = {key: env.get(name) if name else text for key, (name, text) in one["config"].items()}
    missing = [name for key, (name, _) in one["config"].items() if not values[key]]
    key = env.get(auth["key"])
    if missing or not key:

        def nothing() -> SignIn:
            listed = ", ".join(missing or [auth["key"]])
            raise FlowError(f"sign-in with '{one['name']}' has no value of: {listed}")

        return nothing
    texts = {name: value or "" for name, value in values.items()}
    settings = Settings(
        one["name"], one["kind"], one["issuer"], texts["clientId"],
        texts.get("privateKey") or texts["clientSecret"], texts.get("teamId", ""),
        texts.get("keyId", ""), tuple(one["domains"]),
    )  # fmt: skip
    rules = CookieRules(**session["rules"])
    provider = _CLASSES[settings.kind](settings, answering.host)
    is_secure = rules.secure or provider.posts
    made = SignIn(
        settings.name, provider, Seal(key, base_url, settings.name, is_secure=is_secure), base_url,
        accounts, SessionCookies(rules, "begin", frozenset()), rules.token_field,
        rules.refresh_field, is_secure,
    )  # fmt: skip
    return lambda: made


def _profile(given: Mapping[str, Any]) -> Profile:
    factory, *arguments = given["inserter"]
    rest = {name: value for name, value in given.items() if name != "inserter"}
    return Profile(**rest, inserter=resolve(factory)(*arguments))
