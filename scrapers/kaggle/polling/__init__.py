"""What a live bot reads from Kaggle again and again, with watermarks, so that nothing is lost and little is asked twice."""
