"""The web site of challenges: registration, teams, phases, submissions, boards; one command, one process group.

    browser, `isocenter submit` ──▶ pages, api ──▶ policy ──▶ rules of the edition
                                        │                      (`isocenter.editions`)
                                        ▼
                                    database ◀── lease ── workers ──▶ `isocenter.evaluation`, ranking, papers
                                        ▲
                                      clock

Its rooms: `pages` and `api` are what is asked for; `policy` decides who may; `people`, `submitting`, `work`, `boards`,
`organising`, `archiving` do it; `telling` puts a challenge into words; `hosting` starts and keeps the whole.

What a challenge is says its `challenge.toml`, which the site keeps in versions; what people do is in the database; what
they send is in the folder of data. Nothing below this room knows of it: the library scores without Django.

Settings come from the environment (`settings`), so the same code runs on a laptop (SQLite, 127.0.0.1) and behind a
proxy (PostgreSQL, https).
"""
