# Stands in for temporalio/ui: the same server, as Go builds it.
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends wget \
  && rm -rf /var/lib/apt/lists/*
COPY temporal-ui /usr/local/bin/
COPY temporalUi.yaml /etc/temporal-ui/config/container.yaml
USER nobody
WORKDIR /etc/temporal-ui
CMD ["temporal-ui", "--root", ".", "--config", "config", "--env", "container", "start"]
