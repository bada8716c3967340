# Stands in for Caddy's own image: Debian's package, at the same paths.
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends caddy wget \
  && rm -rf /var/lib/apt/lists/*
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
