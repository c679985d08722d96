# Refreshes one Cargo.lock for a host without cargo.
# The context holds manifests, locks and empty sources: all that cargo needs to resolve.
ARG BUILDER_BASE=replay-harness/base-builder

FROM ${BUILDER_BASE} AS refresh
WORKDIR /src
COPY . ./
ARG FOLDER=.
ARG ARGUMENTS=--workspace
# Another value asks the registry again.
ARG MOMENT=
RUN --mount=type=secret,id=env --mount=type=secret,id=ca \
    --mount=type=secret,id=cargo,target=/root/.cargo/config.toml \
    . /run/secrets/env && cd "$FOLDER" && : "$MOMENT" && \
    cargo update $ARGUMENTS && mkdir /out && cp Cargo.lock /out/

FROM scratch AS refreshed
COPY --from=refresh /out/ /
