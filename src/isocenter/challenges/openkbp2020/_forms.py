"""What OpenKBP asked: everybody who registered, and every team that submitted in the test phase on its model.

The fields are those of the published surveys, in words of our own. Labels are headings, so that the report can use
them; the question itself is the help below. Numbers of words were a guide, so they are told and not enforced. On
equity, "Other" was open; here it is not, as own words tell who wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Asked = tuple[Mapping[str, Any], ...]


def _asked(
    name: str, label: str, kind: str, help_text: str = "", *, required: bool = True, **more: Any
) -> dict[str, Any]:
    told = {"help": help_text} if help_text else {}
    return {"name": name, "label": label, "kind": kind, "required": required, **more, **told}


REGISTRATION: Asked = (
    _asked("first_name", "First name", "text"),
    _asked("last_name", "Last name", "text"),
    _asked("email", "E-mail", "email", "The address of your account."),
    _asked("institution", "Institution", "text", "University, hospital or company, with its name in full."),
    _asked("department", "Department", "text", "For example radiation oncology, or computer science."),
    _asked(
        "area",
        "Primary research area",
        "choice",
        choices=("Medical physics", "Machine learning", "Optimisation", "Other…"),
    ),
    _asked(
        "experience",
        "Experience with knowledge-based planning",
        "yes-no",
        "Have you done research on knowledge-based planning before?",
    ),
    _asked(
        "position",
        "Position",
        "choice",
        choices=(
            "Student",
            "Professor",
            "Postdoctoral fellow",
            "Medical physicist",
            "Radiation oncologist",
            "Researcher in industry",
            "Other…",
        ),
    ),
)

EQUITY: Asked = (
    {
        "name": "gender_identity",
        "label": "Gender identity",
        "kind": "several",
        "choices": ("Man", "Woman", "Transgender", "Other"),
        "help": "How do you describe yourself? Choose all that apply.",
    },
    {
        "name": "ethnicity",
        "label": "Racial or ethnic identity",
        "kind": "several",
        "choices": (
            "African American or Black",
            "Asian American or Asian",
            "Hispanic or Latinx",
            "Middle Eastern or North African",
            "Native American or Indigenous",
            "Native Hawaiian or other Pacific Islander",
            "White",
            "Other",
        ),
        "help": "Which groups do you count yourself among? Choose all that apply.",
    },
    {
        "name": "disability",
        "label": "Disability",
        "kind": "yes-no",
        "help": "Do you have, or might others see in you, a lasting condition that limits your work?",
    },
)

SURVEY: Asked = (
    _asked("username", "User name", "text", "Of the member who answers for the team; one does."),
    _asked("team_name", "Team name", "text", "Write N/A if you work alone."),
    _asked(
        "model",
        "Kind of model",
        "choice",
        choices=(
            "Linear regression",
            "Random forest",
            "Neural network",
            "Gradient boosted trees",
            "Support vector machine",
            "Other…",
        ),
    ),
    _asked("approach", "Approach", "long", "How does the model get from a patient to a dose? About 150 words."),
    _asked("key_factor", "What helped most", "long", "What do you think makes the model good? About 100 words."),
    _asked("transfer_learning", "Transfer learning", "yes-no", "Was any part of the model trained on another task?"),
    _asked(
        "augmentation", "Data augmentation", "long", "Which changes of the data, or which other data? About 50 words."
    ),
    _asked(
        "loss", "Loss function", "long", "Are criteria of radiotherapy, such as a maximum dose, in it? About 50 words."
    ),
    _asked("hardware", "Hardware", "long", "Processors, graphics cards or cloud services used. About 25 words."),
    _asked("comments", "Comments", "long", "Anything else that others should know.", required=False),
    _asked(
        "code", "Code", "url", "A repository from which the model can be made again; may follow later.", required=False
    ),
)
