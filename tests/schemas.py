"""The schemas that the package ships, and whether an answer is what they say."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator


def check_form(answer: Any) -> None:
    """Hold an answer against the schema it names; a wrong one raises with the place."""
    name = str(answer["schema"]).removeprefix("torchdoctor.").replace("/", "-")
    schema = json.loads(files("torchdoctor").joinpath(f"schema/{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(answer)
