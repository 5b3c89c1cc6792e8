# The images of the container actions: the static binary, git and a shell (`slim/`), and what a typical pipeline needs
# besides (the last stage). `tests/action/container` builds both and runs them as GitHub's runner does.
ARG RUST=docker.io/library/rust:1.95-slim-trixie@sha256:28846ec5a6bcfcddb93f403ba7071bd579787852b2f2ac3839965620e8bd9456
ARG NODE=docker.io/library/node:24-trixie-slim@sha256:8ec5d7557396cfe32d21c3f9c13072355ceab22b584578ca4bb28af31120cffe
ARG UV=ghcr.io/astral-sh/uv:0.11.23@sha256:d0a0a753ab981624b49c97abc98821c1c09f4ca69d1ef5cee69c501be3d88479
ARG DEBIAN=docker.io/library/debian:trixie-slim@sha256:a29215f6a35e51e22adffa17f89e9d2ef06214e64a2bad10d765c46aea49f11f

FROM ${NODE} AS node
FROM ${UV} AS uv

# What only a debugger reads is a seventh of Node.
FROM ${RUST} AS small
COPY --from=node /usr/local/bin/node /node
RUN strip /node

FROM ${RUST} AS build
WORKDIR /build
COPY . .
# A target has to be named: with `crt-static` for the host, procedural macros cannot be built. A panic ends the program at
# once, so nothing reads the tables by which a stack is unwound.
RUN target="$(rustc -vV | sed -n 's/^host: //p')" \
 && LIBZ_SYS_STATIC=1 CFLAGS=-fno-asynchronous-unwind-tables \
    RUSTFLAGS='-C target-feature=+crt-static -C force-unwind-tables=no' \
    cargo build --profile dist --locked --bin kelvin --target "$target" \
 && mv "target/$target/dist/kelvin" /kelvin \
 && rm -rf target

FROM ${DEBIAN} AS base
LABEL org.opencontainers.image.title="kelvin-action" \
      org.opencontainers.image.description="Tells on every pull request whether the change made an AI pipeline worse, and where." \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"

# Documentation and compiled modules are a third of what apt unpacks here, and nobody reads them. Git brings the modules of
# Perl for `send-email`, `svn` and their kin, and servers: half of what is left. The small Perl of Debian stays.
RUN printf 'path-exclude=/usr/%s\n' \
    'share/doc/*' 'share/man/*' 'share/info/*' 'share/locale/*' 'share/lintian/*' 'share/perl/*' 'share/perl5/*' \
    'lib/*/perl/*' 'lib/*/libperl.so*' lib/git-core/git-daemon lib/git-core/git-http-backend lib/git-core/git-http-push \
    lib/git-core/git-imap-send lib/git-core/git-shell bin/git-shell lib/git-core/scalar bin/scalar > /etc/dpkg/dpkg.cfg.d/small \
 && apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bash ca-certificates git \
 && rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/* \
 # The runner owns the workspace, and the container is root: git calls that dubious.
 && git config --system --add safe.directory /github/workspace

# Kelvin starts as root and gives `setup` and the pipeline the rights of the user of the workspace. Git, which gets a
# token, is looked for in places of the system alone, whatever stands in the `PATH` below.
ENV KELVIN_IN_CONTAINER=1
# No USER and no WORKDIR: the runner sets both, and its files belong to root's user in there.
ENTRYPOINT ["/usr/local/bin/kelvin"]

# `slim/`: the program, git and a shell, for a pipeline behind HTTP or one that is a program by itself.
FROM base AS slim
COPY --from=build /kelvin /usr/local/bin/kelvin

FROM base AS full
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    curl libatomic1 libstdc++6 python-is-python3 python3 python3-pip python3-venv \
 && rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/* \
 # The pipeline is not root: what `pip`, `uv` and `npm -g` install has places of its own.
 && python3 -m venv /opt/venv \
 && mkdir -p /opt/npm/bin /opt/npm/lib \
 && find / -xdev -name __pycache__ -prune -exec rm -rf {} + \
 && chmod -R a+rwX /opt/venv /opt/npm

COPY --from=uv /uv /usr/local/bin/uv
COPY --from=small /node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
COPY --from=build /kelvin /usr/local/bin/kelvin

ENV NPM_CONFIG_PREFIX=/opt/npm \
    PATH=/opt/venv/bin:/opt/npm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    VIRTUAL_ENV=/opt/venv
