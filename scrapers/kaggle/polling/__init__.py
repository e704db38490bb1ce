"""What a live bot reads from Kaggle again and again, with watermarks, so that nothing is lost and little is asked twice."""

from scrapers.kaggle.polling.news import News
from scrapers.kaggle.polling.poller import Cycle, Poller
from scrapers.kaggle.polling.settings import PollingSettings

__all__ = ["Cycle", "News", "Poller", "PollingSettings"]
