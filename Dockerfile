# Slipway: the command, the platform, the worker. Not Alpine: Temporal's native library needs glibc.
# The newest Node with long-term support. Another one: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:26.9.0-bookworm-slim@sha256:582460f614631b59b824ac6020533b9bf339c7fdf3a6d7db31abb6b4065f0212

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/platform/package.json packages/platform/
# No package needs its install script for the build.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json .prettierrc.json ./
COPY scripts scripts
COPY docs docs
COPY src src
COPY packages packages
# What `slipway --version` names: --build-arg SLIPWAY_COMMIT="$(git rev-parse --short=12 HEAD)"
ARG SLIPWAY_COMMIT=
RUN npm run build && npm prune --omit=dev

FROM ${NODE_IMAGE}
# git: sources from repositories. curl: the health check.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates curl git \
  && rm -rf /var/lib/apt/lists/* \
  # Git reads no commit of a checkout of another user, as one on the host is (docs/containers.md, "Release").
  && git config --system --add safe.directory /source
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# What `node_modules/@slipway/` links to.
COPY --from=build /app/packages packages
COPY bin bin
COPY docker docker
COPY templates templates
# Agents and builds run as this user too: see docs/containers.md.
RUN ln -s /app/bin/slipway.js /usr/local/bin/slipway \
  && install --directory --owner=node --group=node --mode=700 /var/lib/slipway
USER node
ENV SLIPWAY_HOME=/var/lib/slipway
CMD ["slipway", "--help"]
