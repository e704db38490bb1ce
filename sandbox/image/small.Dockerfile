# What the built-in recipe and sessions need, on a base made by debootstrap, from wheels that the host has fetched: no network.
FROM kaggle-bot-base:bookworm
COPY wheels /wheels
RUN python3 -m pip install --break-system-packages --no-cache-dir --no-index --find-links /wheels -r /wheels/small.txt \
 && rm -r /wheels
