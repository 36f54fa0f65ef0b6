"""The one Django application of the site."""

from django.apps import AppConfig


class ServerConfig(AppConfig):
    """Its models have the label `site`, which the names of their tables begin with."""

    name = "isocenter.server"
    label = "site"
    verbose_name = "isocenter"
    default_auto_field = "django.db.models.BigAutoField"
