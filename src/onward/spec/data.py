"""The text of a configuration file (JSON, YAML) → plain data, to be compared field by field. Runs nothing."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


class NotData(Exception):
    """The text is no YAML; the message says where and why, in a few words."""


def yaml_data(text: str) -> Any:
    """Mappings, lists and text (every plain value is the text that is written there). Raises `NotData`."""
    try:
        return yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, RecursionError) as error:
        raise NotData(str(getattr(error, "problem", None) or error).splitlines()[0]) from None
