"""The addresses in documents for clients, from the settings and never from a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from bbops_server.accounts.rules import GrantScope

DEVICE_CODE: Final = "urn:ietf:params:oauth:grant-type:device_code"
GRANT_TYPES: Final = ("authorization_code", "refresh_token", DEVICE_CODE)
METADATA: Final = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The addresses of a server; `issuer` is the URL of its control plane."""

    issuer: str

    @property
    def mcp(self) -> str:
        """The public MCP server, the default resource of tokens."""
        return f"{self.issuer}/mcp"

    def mcp_of(self, key: str) -> str:
        """Return the address of a project's MCP server."""
        return f"{self.mcp}/p/{key}"

    def describe_resource(self, resource: str) -> dict[str, Any]:
        """Return the metadata of a protected resource (RFC 9728)."""
        return {
            "resource": resource,
            "resource_name": "bbops",
            "authorization_servers": [self.issuer],
            "scopes_supported": list(GrantScope),
            "bearer_methods_supported": ["header"],
        }

    def describe_server(self, *, reads_documents: bool) -> dict[str, Any]:
        """Return the metadata of the authorization server (RFC 8414)."""
        oauth = f"{self.issuer}/oauth"
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{oauth}/authorize",
            "token_endpoint": f"{oauth}/token",
            "device_authorization_endpoint": f"{oauth}/device_authorization",
            "registration_endpoint": f"{oauth}/register",
            "revocation_endpoint": f"{oauth}/revoke",
            "scopes_supported": list(GrantScope),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(GRANT_TYPES),
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": reads_documents,
        }
