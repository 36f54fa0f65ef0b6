"""Names and affiliations that organisers verified."""

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import isocenter.server.clock


class Migration(migrations.Migration):
    """A table of its own, empty at first."""

    dependencies = [("site", "0002_snapshot_leaders")]

    operations = [
        migrations.CreateModel(
            name="Verification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120)),
                ("affiliation", models.CharField(blank=True, max_length=200)),
                (
                    "verdict",
                    models.CharField(choices=[("verified", "Verified"), ("refused", "Refused")], max_length=10),
                ),
                ("made", models.DateTimeField(default=isocenter.server.clock.now)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="verifications", to="site.challenge"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verifications",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "challenge"), name="one_verification")],
            },
        ),
    ]
