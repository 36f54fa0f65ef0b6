"""Runs that score a submission on a further cohort of its phase."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column of runs; those of before scored the phase's own cases."""

    dependencies = [("site", "0003_verification")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="cohort",
            field=models.CharField(
                blank=True,
                default="",
                help_text='The further cohort of the phase that is scored; "" for its own cases.',
                max_length=60,
            ),
            preserve_default=False,
        ),
    ]
