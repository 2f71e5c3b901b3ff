#!/bin/sh
# exchange.sh FOLDER - a model that is somebody with a folder: the question on standard input
# becomes FOLDER/question-N.txt; FOLDER/answer-N.txt, once it is there, is the answer. Write it
# under another name and move it, so that it is whole when it is seen.
set -e
mkdir -p "$1"
n=1
while ! mkdir "$1/.$n" 2>/dev/null; do n=$((n + 1)); done
cat > "$1/.question"
mv "$1/.question" "$1/question-$n.txt"
while [ ! -e "$1/answer-$n.txt" ]; do sleep 1; done
cat "$1/answer-$n.txt"
