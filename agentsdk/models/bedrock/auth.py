"""`AwsAuth`: signatures for Amazon Web Services with the credentials that `botocore` finds (extra `bedrock`)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, cast

from agentsdk.models.auth import AuthRequest
from agentsdk.models.bedrock.signature import Keys, Signer
from agentsdk.models.renewed import AskedOnce, typed_by
from agentsdk.types.declared import Fields, a_name, optional
from agentsdk.types.errors import AuthenticationError, ModelConnectionError, ProviderError, UserError

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
        self._session = _imported("botocore.session")
        self._signer = Signer(service, self.region)
        self._credentials: Any = None
        self._find: AskedOnce[Any] = AskedOnce(self._found)
        self._renew: AskedOnce[Any] = AskedOnce(lambda: self._credentials.get_frozen_credentials())

    async def __call__(self, request: AuthRequest) -> dict[str, str]:
        """The headers that sign a request."""
        with typed_by(_typed):
            frozen = await self._frozen(refresh=request.refresh)
        keys = Keys(frozen.access_key, frozen.secret_key, frozen.token or "")
        kind = request.headers.get("content-type", "")
        return self._signer.headers(request.method, request.url, kind, request.digest, keys, utc_now())

    async def _frozen(self, *, refresh: bool) -> Any:
        """The credentials as they are now. What may ask the network for them does so on a thread, once for all that wait."""
        if self._credentials is None or refresh:
            self._credentials = await self._find()
        expires = getattr(self._credentials, "refresh_needed", None)
        return await self._renew() if expires is not None and expires() else self._credentials.get_frozen_credentials()

    def _found(self) -> Any:
        """The credentials; it may ask the network for them."""
        errors = _imported("botocore.exceptions")
        try:
            credentials = self._session.Session(profile=self._profile).get_credentials()
        except errors.ProfileNotFound as error:
            raise UserError(f"AwsAuth: {error}; choose another profile, or write it into ~/.aws/config") from None
        except errors.PartialCredentialsError as error:
            raise UserError(f"AwsAuth: {error}; set both halves of the key, or run 'aws configure'") from None
        if credentials is None:
            raise UserError(
                "no AWS credentials were found, expected them where the AWS tools look; set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, run 'aws configure', or set AWS_BEARER_TOKEN_BEDROCK to an API key of Bedrock"
            )
        return credentials


def utc_now() -> datetime:
    """The time that signatures bear."""
    return datetime.now(UTC)


def _typed(error: Exception) -> ProviderError:
    """What went wrong with credentials. What answers for them may repeat secrets: its text is in the cause only."""
    kinds, kind = {one.__name__ for one in type(error).__mro__}, type(error).__name__
    if kinds & {"ConnectionError", "HTTPClientError"}:
        return ModelConnectionError(f"AwsAuth cannot reach what gives credentials ({kind})", retryable=True)
    login = "run 'aws sso login'" if "SSOError" in kinds else "run 'aws configure'"
    return AuthenticationError(f"AwsAuth was given no credentials ({kind}), the cause says why; {login}")


def _imported(name: str) -> Any:
    try:
        return cast(Any, import_module(name))
    except ImportError:
        raise UserError(
            "the credentials of AWS are found by the package 'botocore', which is not installed; pip install "
            "'agentsdk[bedrock]', or set AWS_BEARER_TOKEN_BEDROCK to an API key of Bedrock, which needs no signatures"
        ) from None
