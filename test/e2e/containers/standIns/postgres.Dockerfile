# Stands in for PostgreSQL's own image: Debian's package, the same variables and the same folder of first steps.
FROM docker.io/library/debian:bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends postgresql-15 \
  && rm -rf /var/lib/apt/lists/*
ENV PATH=/usr/lib/postgresql/15/bin:$PATH PGDATA=/var/lib/postgresql/data
COPY --chmod=755 postgres.sh /usr/local/bin/
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["postgres.sh"]
