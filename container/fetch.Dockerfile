# Downloads everything that the build needs; nothing after it uses the network.
# The context holds manifests and locks only, so an edited source file fetches nothing again.
ARG BUILDER_BASE=replay-harness/base-builder

FROM ${BUILDER_BASE} AS crates
WORKDIR /src
COPY manifests/ ./
# The host's mirrors, proxies and certificates come as secrets: none of them stays in a layer.
RUN --mount=type=secret,id=env --mount=type=secret,id=ca \
    --mount=type=secret,id=cargo,target=/root/.cargo/config.toml \
    . /run/secrets/env && mkdir -p /out/vendor && \
    cargo vendor --locked --versioned-dirs /out/vendor >/dev/null

FROM ${BUILDER_BASE} AS wheels
WORKDIR /locks
COPY locks/ ./
# The interpreter of the builder is the one of the images, so pip chooses the right wheels.
RUN --mount=type=secret,id=env --mount=type=secret,id=ca \
    --mount=type=secret,id=pip,target=/etc/pip.conf \
    . /run/secrets/env && \
    for lock in *.txt; do \
        PYTHONPATH=$(ls /usr/share/python-wheels/pip-*.whl) python3 -m pip download \
            --require-hashes --only-binary :all: --no-cache-dir --no-deps --progress-bar off \
            --dest "/out/wheels/${lock%.txt}" --requirement "$lock" || exit 1; \
    done

FROM scratch AS fetched
COPY --from=crates /out/ /
COPY --from=wheels /out/ /
