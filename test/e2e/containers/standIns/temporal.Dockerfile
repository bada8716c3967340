# Stands in for temporalio/auto-setup: the same server, as Go builds it, with the same variables.
FROM docker.io/library/debian:bookworm-slim
COPY temporal-server temporal-sql-tool temporal /usr/local/bin/
COPY schema /etc/temporal/schema
COPY --chmod=755 temporal.sh /usr/local/bin/
RUN useradd --system --home-dir /etc/temporal temporal && mkdir /etc/temporal/config && chown -R temporal /etc/temporal
USER temporal
WORKDIR /etc/temporal
ENTRYPOINT ["temporal.sh"]
