#!/usr/bin/env bash
# Builds what the tests of the Helm chart need, on a bare Debian machine, as root, once: Kubernetes' API server, controllers
# and scheduler, kwok (simulated nodes) and helm from their Go modules, and Debian's etcd. Takes 15 to 25 minutes on two cores.
set -euo pipefail
version=1.34.4 kwok=0.7.0 helm=3.19.2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kubernetes-$version
mkdir -p "$cache/bin" "$cache/src"
export CGO_ENABLED=0
cd "$cache/src"
if [ ! -f go.sum ]; then
  printf 'module kube\ngo 1.24.0\nrequire k8s.io/kubernetes v%s\n' "$version" >go.mod
  go mod download "k8s.io/kubernetes@v$version"
  # What Kubernetes keeps in its own tree is published beside it, one version for all.
  grep -oE 'k8s.io/[a-z-]+ v0\.0\.0$' "$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/go.mod" |
    awk '{print $1}' | sort -u | sed "s|.*|replace & => & v0.${version#1.}|" >>go.mod
  printf 'package main\nimport (\n_ "k8s.io/kubernetes/cmd/kube-apiserver/app"\n_ "k8s.io/kubernetes/cmd/kube-controller-manager/app"\n_ "k8s.io/kubernetes/cmd/kube-scheduler/app"\n)\nfunc main() {}\n' >main.go
  go mod tidy
fi
for name in kube-apiserver kube-controller-manager kube-scheduler; do
  [ -x "$cache/bin/$name" ] || go build -o "$cache/bin/$name" \
    -ldflags "-X k8s.io/component-base/version.gitVersion=v$version" "k8s.io/kubernetes/cmd/$name"
done
export GOBIN=$cache/bin
[ -x "$cache/bin/kwok" ] || go install "sigs.k8s.io/kwok/cmd/kwok@v$kwok"
[ -x "$cache/bin/helm" ] || go install "helm.sh/helm/v3/cmd/helm@v$helm"
command -v etcd >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends etcd-server >/dev/null; }
ls "$cache/bin"
