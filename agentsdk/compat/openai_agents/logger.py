"""The package's logger, under the name that programs of openai-agents set up."""

import logging
from typing import TYPE_CHECKING

from agentsdk.compat.openai_agents._absent import names_absent_in

logger = logging.getLogger("openai.agents")

if not TYPE_CHECKING:
    __getattr__ = names_absent_in(__name__)
