"""Keys that rows have in addresses and forms."""

from __future__ import annotations

import uuid

from django.db import models


class Keyed(models.Model):
    """A row with a random key by which pages, files and programs call it: its number would tell how many there are."""

    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)

    class Meta:
        abstract = True
