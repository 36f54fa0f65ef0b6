"""Who led at the moments that bonuses are for."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column of snapshots; those of before had no such bonuses."""

    dependencies = [("site", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="snapshot",
            name="leaders",
            field=models.JSONField(
                default=dict, help_text="Of the main board: who led at the moments that bonuses are for."
            ),
        ),
    ]
