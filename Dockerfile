# Builds Orrery's Debian package in one image and installs it in another: docs/install.md.
FROM debian:12 AS build
RUN apt-get -q update && apt-get -q -y install --no-install-recommends make file dpkg-dev
COPY . /source
WORKDIR /source
RUN make build && cpack -G DEB --config build/release/CPackConfig.cmake -B /packages

FROM debian:12-slim
COPY --from=build /packages/*.deb /packages/
RUN apt-get -q update \
    && apt-get -q -y install --no-install-recommends /packages/*.deb openmpi-bin openssh-client \
    && rm -rf /packages /var/lib/apt/lists/* \
    && useradd --create-home orrery
# mpirun refuses to run as root.
USER orrery
WORKDIR /data
ENTRYPOINT ["orrery"]
CMD ["--help"]
