#!/bin/sh
# The script of a `git bisect run`: builds the commit that git has checked out, pushes it with playbooks/push.yml, and
# says by its exit status what the commit is. docs/push-your-build.md tells how to use it.
#
#   CHECK='./is-it-there.sh' git bisect run .../playbooks/files/bisect.sh -i nodes/ -e winkube_build_name=containerd
#
# 0    good: it works on the nodes, and CHECK ends with 0, if there is one
# 1    bad: a node rolled it back, or CHECK ends with another status
# 125  it does not build, or CHECK cannot tell (125): git leaves the commit out
# 255  nothing was learned of the commit, such as a node that is not reached: git stops
set -u
notes=$(mktemp -d) || exit 255
trap 'rm -rf "$notes"' EXIT

ansible-playbook winkube.node.push -e "winkube_build_dir=$PWD" -e "winkube_push_notes=$notes" "$@"
status=$?
[ -e "$notes/unbuilt" ] && exit 125
[ -e "$notes/rolled-back" ] && exit 1
[ "$status" -eq 0 ] || exit 255
[ -n "${CHECK:-}" ] || exit 0
sh -c "$CHECK"
case $? in
  0) exit 0 ;;
  125) exit 125 ;;
  *) exit 1 ;;
esac
