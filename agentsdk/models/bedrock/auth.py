"""`AwsAuth`: signatures for Amazon Web Services, version 4, with the credentials that `botocore` finds (extra `bedrock`)."""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from typing import Any, cast

from agentsdk.models.auth import AuthRequest
from agentsdk.types.declared import Fields, a_name, optional
from agentsdk.types.errors import UserError

_FIELDS = Fields(
    "AwsAuth",
    region=optional(a_name("the name of a region; write 'us-east-1'")),
    profile=optional(a_name("the name of a profile in ~/.aws; leave it out for AWS_PROFILE's")),
    service=a_name("the name that the service signs by; write 'bedrock'"),
)


def known_region(region: str | None) -> str:
    """`region`, or that of AWS_REGION or AWS_DEFAULT_REGION; `""` where none says."""
    return region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


class AwsAuth:
    """Signs each request: `BedrockModel("MODEL", base_url=..., auth=AwsAuth())`. Without a `base_url` it is the default.

    The credentials are those of `botocore`'s chain: the environment, `~/.aws` (its `profile`), single sign-on, the role of a
    container or a machine. What expires is renewed in time, and read anew where the server says that it has expired. `region`
    defaults to AWS_REGION or AWS_DEFAULT_REGION.

    Raises `UserError` for a missing region or package, and, asked for a signature, where there are no credentials.
    """

    def __init__(self, region: str | None = None, *, profile: str | None = None, service: str = "bedrock") -> None:
        _FIELDS.check_given(region=region, profile=profile, service=service)
        self.region = known_region(region)
        if not self.region:
            raise UserError("AwsAuth has no region, expected it in AWS_REGION; set that variable or pass region='us-east-1'")
        self._profile = profile
        self._service = service
        self._auth, self._request = _imported("botocore.auth"), _imported("botocore.awsrequest")
        self._session = _imported("botocore.session")
        self._credentials: Any = None

    async def __call__(self, request: AuthRequest) -> dict[str, str]:
        """The headers that sign a request."""
        if self._credentials is None or request.refresh:
            self._credentials = await asyncio.to_thread(self._found)
        expires = getattr(self._credentials, "refresh_needed", None)
        if expires is not None and expires():
            frozen = await asyncio.to_thread(self._credentials.get_frozen_credentials)
        else:
            frozen = self._credentials.get_frozen_credentials()
        kept = {name: value for name, value in request.headers.items() if name == "content-type"}
        signed = self._request.AWSRequest(request.method, request.url, headers=kept, data=request.body)
        self._auth.SigV4Auth(frozen, self._service, self.region).add_auth(signed)
        return {name.lower(): value for name, value in signed.headers.items() if name.lower() not in kept}

    def _found(self) -> Any:
        """The credentials; it may ask the network for them."""
        errors = _imported("botocore.exceptions")
        try:
            credentials = self._session.Session(profile=self._profile).get_credentials()
        except errors.ProfileNotFound as error:
            raise UserError(f"AwsAuth: {error}; choose another profile, or write it into ~/.aws/config") from None
        if credentials is None:
            raise UserError(
                "no AWS credentials were found, expected them where the AWS tools look; set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, run 'aws configure', or set AWS_BEARER_TOKEN_BEDROCK to an API key of Bedrock"
            )
        return credentials


def _imported(name: str) -> Any:
    try:
        return cast(Any, import_module(name))
    except ImportError:
        raise UserError(
            "requests to AWS are signed by the package 'botocore', which is not installed; pip install 'agentsdk[bedrock]', or "
            "set AWS_BEARER_TOKEN_BEDROCK to an API key of Bedrock, which needs no signatures"
        ) from None
