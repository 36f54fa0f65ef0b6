"""What only the organisers know of a challenge: the items of its structured description that no code can answer.

The tables follow the parts of the description that conferences ask for (BIAS), and their fields the items:

    [summary]       1–3    [mission]   14–20    [assessment]  26–29
    [organisation]  4–13   [datasets]  21–25

All may be left out. `isocenter describe` puts what is there beside what the code knows, and lists what is not. Texts
are plain: an empty line parts two paragraphs, lines that begin with "- " are a list.

References
----------
Maier-Hein L, Reinke A, Kozubek M, et al. BIAS: transparent reporting of biomedical image analysis challenges. Med Image
Anal 66 (2020) 101796.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from isocenter.schema import Allowed
from isocenter.schema.tables import Table

_PROSE = 'a text in quotes that is not empty, or between """ and """ if it has several lines'
_WORDS = 'words in quotes between brackets, such as ["segmentation", "PET/CT"]'

Prose = Annotated[str | None, Field(pattern=r"\S")]
Word = Annotated[str, Field(pattern=r"\S")]
Words = Annotated[Annotated[tuple[Word, ...], Field(strict=False, min_length=1)] | None, Allowed(_WORDS, spoken=False)]


def like(example: str) -> Allowed:
    """A text such as the example, which holds no quotes; the heading of its table says how texts are written."""
    return Allowed(_PROSE, example=f'"{example}"', spoken=False)


class Summary(Table):
    """The challenge in a few words."""

    acronym: Annotated[Prose, like("HECKTOR")] = Field(default=None, description="The short name of the challenge.")
    abstract: Annotated[Prose, like("Tumours are outlined by hand, which takes hours and differs between readers.")] = (
        Field(default=None, description="What the challenge is for, in medicine and in method, and what it may change.")
    )
    keywords: Annotated[
        Words, Allowed(_WORDS, example='["head and neck cancer", "segmentation", "PET/CT"]', spoken=False)
    ] = Field(default=None, description="The words by which the challenge is found.")


class Organisation(Table):
    """Who runs the challenge, where, and what is agreed with those who take part."""

    team: Annotated[Prose, like("A. Author, University Hospital; B. Author, Institute of Physics")] = Field(
        default=None, description="Who organises the challenge, by name and affiliation."
    )
    life_cycle: Annotated[Prose, like("One-time event; the board stays open afterwards.")] = Field(
        default=None, description="Whether the challenge is held once or again, and what stays open afterwards."
    )
    event: Annotated[Prose, like("MICCAI 2020")] = Field(
        default=None, description="The conference that the challenge is part of."
    )
    platform: Annotated[Prose, like("grand-challenge.org")] = Field(
        default=None, description="The platform that the challenge runs on."
    )
    interaction: Annotated[Prose, like("Fully automatic methods only.")] = Field(
        default=None, description="How much a person may intervene while a method runs."
    )
    training_data: Annotated[Prose, like("Public data may be used beside those of the challenge.")] = Field(
        default=None, description="Which data and trained models may be used beside those of the challenge."
    )
    awards: Annotated[Prose, like("The winner presents at the workshop.")] = Field(
        default=None, description="What is awarded beside the prizes of this file, and on what conditions."
    )
    publication: Annotated[Prose, like("Two authors per team; own papers at any time, citing ours.")] = Field(
        default=None, description="Who becomes an author, and when teams may publish results of their own."
    )
    submission: Annotated[Prose, like("A zip of all masks, uploaded to the platform.")] = Field(
        default=None, description="How results are handed in, and where the instructions are."
    )
    dates: Annotated[Prose, like("Training cases are released on 1 June, the workshop is on 4 October.")] = Field(
        default=None, description="Dates beside those of the phases, of data, registration and workshop."
    )
    ethics: Annotated[Prose, like("Approved by the ethics committee of the hospital, protocol 2018-01513.")] = Field(
        default=None, description="Which board approved the use of the data, when, and under which number."
    )
    licence: Annotated[Prose, like("CC BY-NC-ND 4.0")] = Field(
        default=None, description="The licence of the data, and who may use and pass them on."
    )
    code: Annotated[Prose, like("https://example.org/our-challenge")] = Field(
        default=None, description="Where the organisers publish their own code and the files that the ranking needs."
    )
    team_code: Annotated[Prose, like("Teams decide whether they publish their code.")] = Field(
        default=None, description="Whether the code of the teams is published, and where."
    )
    conflicts: Annotated[Prose, like("None.")] = Field(
        default=None, description="The conflicts of interest of the organisers, also if there are none."
    )
    funding: Annotated[Prose, like("National Science Foundation, grant 12345")] = Field(
        default=None, description="Who pays for the challenge and its prizes."
    )
    label_access: Annotated[Prose, like("Only the organisers, from the beginning.")] = Field(
        default=None, description="Who sees the reference of the test cases, and from when on."
    )


class Mission(Table):
    """What the methods are for, and for whom."""

    application: Annotated[Prose, like("Research, diagnosis, prognosis")] = Field(
        default=None, description="The field that the methods are made for, such as diagnosis or planning."
    )
    category: Annotated[Prose, like("Segmentation")] = Field(
        default=None, description="The kind of task, such as segmentation, detection or prediction."
    )
    target_cohort: Annotated[Prose, like("Patients with suspected cancer of the oropharynx")] = Field(
        default=None, description="The patients that the methods are meant for in the end."
    )
    challenge_cohort: Annotated[Prose, like("Patients with proven cancer who had PET/CT before radiotherapy")] = Field(
        default=None, description="The patients whose data are in the challenge, and how they differ from the others."
    )
    modality: Annotated[Prose, like("FDG-PET/CT")] = Field(
        default=None, description="The imaging that the methods work on."
    )
    image_context: Annotated[Prose, like("Centre and scanner")] = Field(
        default=None, description="What is told about the images beside the images."
    )
    patient_context: Annotated[Prose, like("Age and sex")] = Field(
        default=None, description="What is told about the patients beside the images."
    )
    data_origin: Annotated[Prose, like("Head and neck, on PET and CT")] = Field(
        default=None, description="The part of the body that the images show."
    )
    algorithm_target: Annotated[Prose, like("Primary tumours and metastatic lymph nodes")] = Field(
        default=None, description="The structures or findings that the methods look for."
    )
    aims: Annotated[Prose, like("Accurate segmentation")] = Field(
        default=None, description="What a good method does well, the most important first."
    )


class Datasets(Table):
    """The cases, and where their reference comes from."""

    devices: Annotated[Prose, like("Discovery ST, GE Healthcare")] = Field(
        default=None, description="The devices that the images were acquired with."
    )
    acquisition: Annotated[Prose, like("PET one hour after 4 MBq/kg of FDG, three minutes per bed position")] = Field(
        default=None, description="How the images were acquired, for each device."
    )
    centres: Annotated[Prose, like("Four hospitals in Canada, one in Switzerland")] = Field(
        default=None, description="The centres that the data come from, or why they are not named."
    )
    operators: Annotated[Prose, like("Trained radiographers")] = Field(
        default=None, description="Who acquired the data, and with which experience."
    )
    case: Annotated[Prose, like("A PET and a CT of one patient, registered, with the outline of all tumour")] = Field(
        default=None, description="What one case is, and what comes with it."
    )
    numbers: Annotated[Prose, like("203 training cases, 46 test cases")] = Field(
        default=None, description="How many cases there are for training, validation and test."
    )
    proportion: Annotated[Prose, like("The test cases are those of one further centre.")] = Field(
        default=None, description="Why there are so many cases, and why they are parted so."
    )
    characteristics: Annotated[Prose, like("Positive cases are as frequent as in the clinic.")] = Field(
        default=None, description="What else matters of the cases, such as how frequent each class is."
    )
    reference: Annotated[Prose, like("Outlined by one radiation oncologist")] = Field(
        default=None, description="How the reference of the cases was made, and by how many annotators."
    )
    instructions: Annotated[Prose, like("Outline all tumour that is visible on PET or CT.")] = Field(
        default=None, description="What the annotators were told to do, and the protocol they had."
    )
    annotators: Annotated[Prose, like("One radiation oncologist with ten years of experience")] = Field(
        default=None, description="Who annotated, and with which experience."
    )
    merging: Annotated[Prose, like("One annotation per case; nothing was merged.")] = Field(
        default=None, description="How several annotations of a case became one."
    )
    preprocessing: Annotated[Prose, like("Resampled to 1 mm and cropped around the oropharynx")] = Field(
        default=None, description="What was done to the images before they were released."
    )
    annotation_errors: Annotated[Prose, like("Two observers agree with a Dice of 0.69.")] = Field(
        default=None, description="How far the reference may be wrong, such as by how much observers differ."
    )
    other_errors: Annotated[Prose, like("Some outlines were drawn on another CT and registered.")] = Field(
        default=None, description="What else may be wrong with the data, and by how much."
    )


class Assessment(Table):
    """Why results are measured and ranked as they are; how they are, the code knows."""

    metrics_reason: Annotated[Prose, like("Dice is robust where the target is small.")] = Field(
        default=None, description="Why these metrics were chosen, with regard to the medical question."
    )
    ranking_reason: Annotated[Prose, like("Every patient counts alike.")] = Field(
        default=None, description="Why the ranking is made in this way."
    )
    statistics: Annotated[Prose, like("The winner is compared with each of the others.")] = Field(
        default=None, description="Which tests and intervals will be reported, and what they assume."
    )
    statistics_reason: Annotated[Prose, like("Means of many cases are close to normal.")] = Field(
        default=None, description="Why these statistics were chosen."
    )
    further: Annotated[Prose, like("Majority votes of all teams; cases that all teams find difficult")] = Field(
        default=None, description="Which further analyses are planned, such as ensembles or common errors."
    )
    references: Annotated[Prose, like("Author A. The data. Journal 1 (2020) 1-10.")] = Field(
        default=None, description="The papers and data sets behind the design of the challenge."
    )
