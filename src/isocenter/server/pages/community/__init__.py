"""What is said: news, the forum, links to code, notifications."""

from __future__ import annotations

from django.urls import path

from isocenter.server.pages.community import announcing, code, forum, moderation, news, notifications

urlpatterns = [
    path("notifications/", notifications.notifications, name="notifications"),
    path("notifications/<int:number>/", notifications.opened, name="notification"),
    path("c/<slug:slug>/news/", news.news, name="news"),
    path("c/<slug:slug>/news.atom", news.feed, name="news_feed"),
    path("c/<slug:slug>/news/new/", announcing.announce, name="announce"),
    path("c/<slug:slug>/news/<uuid:key>/", news.item, name="news_item"),
    path("c/<slug:slug>/forum/", forum.forum, name="forum"),
    path("c/<slug:slug>/forum/new/", forum.new_topic, name="new_topic"),
    path("c/<slug:slug>/forum/<uuid:key>/", forum.topic, name="topic"),
    path("c/<slug:slug>/forum/<uuid:key>/reply/", forum.reply, name="reply"),
    path("c/<slug:slug>/forum/<uuid:key>/mails/", forum.subscribe, name="subscribe"),
    path("c/<slug:slug>/forum/<uuid:key>/moderate/", moderation.moderate, name="moderate"),
    path("c/<slug:slug>/forum/posts/<uuid:key>/", forum.edit, name="edit_post"),
    path("c/<slug:slug>/forum/posts/<uuid:key>/hide/", moderation.hide, name="hide_post"),
    path("c/<slug:slug>/code/", code.code, name="code"),
]
