"""The site for any WSGI server; `isocenter serve` brings its own."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "isocenter.server.settings")
application = get_wsgi_application()
