#!/usr/bin/env bash
# Prints a hash of what an installation depends on: the files of this repository, Node, the machine's kind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
files() {
  find . \( -name node_modules -o -name dist -o -name .git -o -name .tool \) -prune -o -type f -print | LC_ALL=C sort
}
{
  node --print 'process.version + process.platform + process.arch'
  files
  files | git hash-object --no-filters --stdin-paths
} | git hash-object --stdin
