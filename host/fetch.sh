#!/usr/bin/env bash
# Prints the path of the binary: `KELVIN_BINARY` if it is set, else the one of this release for this
# machine. `release.txt` is written by the release; its checksums are those of the archives.
set -euo pipefail

fail() {
  printf '::error title=Kelvin::%s\n' "$1" >&2
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    printf '### ❌ Kelvin: could not check this commit\n\n%s\n' "$1" >> "$GITHUB_STEP_SUMMARY"
  fi
  exit 1
}

if [ -n "${KELVIN_BINARY:-}" ]; then
  [ -x "$KELVIN_BINARY" ] || fail "KELVIN_BINARY is not a program that can be run"
  printf '%s\n' "$KELVIN_BINARY"
  exit 0
fi

case "$(uname -s) $(uname -m)" in
  'Linux x86_64') target=x86_64-unknown-linux-gnu ;;
  'Linux aarch64' | 'Linux arm64') target=aarch64-unknown-linux-gnu ;;
  'Darwin x86_64') target=x86_64-apple-darwin ;;
  'Darwin arm64') target=aarch64-apple-darwin ;;
  *) fail "there is no binary for $(uname -s) on $(uname -m); Linux and macOS on x86-64 and arm64 have one" ;;
esac

release=${KELVIN_RELEASE:-$(dirname "$0")/release.txt}
[ -f "$release" ] || fail "this commit is not a release, so it has no binary; use a tag such as v1, or set KELVIN_BINARY to one that you built"
archive=kelvin-$target.tar.gz
url=$(sed -n 's/^url //p' "$release")
wanted=$(awk -v name="$archive" '$2 == name { print $1 }' "$release")
[ -n "$url" ] && [ -n "$wanted" ] || fail "the release has no archive for $target"

# Kept as the archive and checked each time, so that nothing unchecked is ever run from there.
store=${RUNNER_TOOL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}}/kelvin/$wanted
matches() {
  if command -v sha256sum >/dev/null; then
    printf '%s  %s\n' "$wanted" "$1" | sha256sum --check --status
  else
    printf '%s  %s\n' "$wanted" "$1" | shasum -a 256 --check --status
  fi
}
if ! { [ -f "$store/$archive" ] && matches "$store/$archive"; }; then
  mkdir -p "$store"
  part=$(mktemp "$store/part.XXXXXX")
  trap 'rm -f "$part"' EXIT
  curl --fail --silent --show-error --location --retry 5 --retry-connrefused --max-time 300 \
    --output "$part" "$url/$archive" || fail "$url/$archive cannot be had"
  matches "$part" || fail "$archive does not have the SHA-256 that the release names"
  mv "$part" "$store/$archive"
fi

folder=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/kelvin.XXXXXX")
tar -xzf "$store/$archive" -C "$folder" kelvin
printf '%s\n' "$folder/kelvin"
