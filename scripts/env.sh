# Sourced by every entry script, from anywhere: goes to the top of the tree and gives what the scripts share.
# Needs a JDK (17 or later) and Python (3.10 or later, with venv); the rest is fetched at the first run.
# SNAPLINE_SPARK=4.3.0 before any of them: for that release of Spark instead of the first in SPARK_LINES.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

JARS=python/src/snapline/jars
SBT=org.scala-sbt:sbt-launch:$(sed -n 's/^sbt.version=//p' project/build.properties)

say() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# Each line of Spark has a venv and a jar.
# The bash of macOS (3.2) has no mapfile; read ends with 1 at the end of a file.
IFS=$'\n' read -r -d '' -a SPARK_RELEASES <SPARK_LINES || true
export SNAPLINE_SPARK=${SNAPLINE_SPARK:-${SPARK_RELEASES[0]}} VENV=.venv
[[ " ${SPARK_RELEASES[*]} " == *" $SNAPLINE_SPARK "* ]] ||
  die "SNAPLINE_SPARK=$SNAPLINE_SPARK is not in SPARK_LINES: ${SPARK_RELEASES[*]}."
[[ $SNAPLINE_SPARK == "${SPARK_RELEASES[0]}" ]] || VENV=.venv-${SNAPLINE_SPARK%.*}

# Two scripts may be started in one tree: they take turns. The lock is not handed on to what the command starts.
locked() {
  mkdir -p target
  if command -v flock >/dev/null; then
    ({ flock -n 9 || { say "Waiting for another $1 in this tree" && flock 9; }; } && "${@:2}" 9>&-) 9>"target/$1.lock"
  else
    "${@:2}"
  fi
}

need_java() {
  [[ -z ${JAVA_HOME:-} ]] || PATH=$JAVA_HOME/bin:$PATH
  local major
  major=$(javac -version 2>&1 | sed -nE 's/^javac ([0-9]+).*/\1/p') || true
  [[ ${major:-0} -ge 17 ]] || die "A JDK, 17 or later, is needed; found: ${major:-none}.
Install one (Debian, Ubuntu: apt install openjdk-17-jdk-headless), or let JAVA_HOME name it."
}

# pyenv has commands on the path for versions that are not chosen, which fail.
find_python() {
  local name candidate
  for name in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
    for candidate in "$name" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"${name#python}".*/bin/"$name"; do
      if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        "$candidate" -c 'import ensurepip, venv' 2>/dev/null ||
          die "$candidate lacks venv or ensurepip: install them (Debian, Ubuntu: apt install python3-venv)."
        command -v "$candidate"
        return
      fi
    done
  done
  die "${PYTHON:-Python 3.10 or later} is needed. Install one, or let PYTHON name it."
}

home_of() { "$1" -c 'import os, sys; print(os.path.dirname(sys._base_executable))'; }

# The venv, with the pinned requirements and the package itself, editable. Brought up to date when any of that changes,
# and made anew when PYTHON names another one.
need_venv() { locked venv make_venv; }

make_venv() {
  local wanted python
  wanted=$(pwd && cat VERSION SPARK_LINES python/requirements-dev.txt python/pyproject.toml python/hatch_build.py && echo "$SNAPLINE_SPARK ${PYTHON:-}")
  wanted=$(cksum <<<"$wanted")
  if [[ ! -f $VENV/stamp || $(<"$VENV/stamp") != "$wanted" ]]; then
    say "Preparing $VENV"
    python=$(find_python) || return
    # One that came from elsewhere names its old place; one of another Python has packages for that.
    grep -qsF " $PWD/$VENV" "$VENV/pyvenv.cfg" && grep -qsxF "home = $(home_of "$python")" "$VENV/pyvenv.cfg" || rm -rf "$VENV"
    # A JVM warns of an archive whose jars are of another date.
    rm -f build/classes-"$SNAPLINE_SPARK"-*.jsa
    "$python" -m venv "$VENV" &&
      "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check \
        -r python/requirements-dev.txt "pyspark==$SNAPLINE_SPARK" -e python &&
      printf '%s\n' "$wanted" >"$VENV/stamp"
  fi
}

# build/docs-venv, apart from .venv: no test and no part of the package needs what the site is built with.
need_docs_venv() { locked docs-venv make_docs_venv; }

make_docs_venv() {
  local venv=build/docs-venv wanted python
  wanted=$(pwd && cat website/requirements.txt)
  wanted=$(cksum <<<"$wanted")
  [[ ! -f $venv/stamp || $(<$venv/stamp) != "$wanted" ]] || return 0
  say "Preparing $venv"
  rm -rf $venv
  python=$(find_python) &&
    "$python" -m venv $venv &&
    $venv/bin/python -m pip install --quiet --disable-pip-version-check -r website/requirements.txt &&
    printf '%s\n' "$wanted" >$venv/stamp
}

# sbt itself comes from Maven Central through jgo; .jvmopts holds its memory settings. Task pythonJar writes JAR_INPUTS beside the jar.
sbt() { need_java && need_venv && locked sbt run_sbt "$@"; }

run_sbt() {
  local options
  IFS=$'\n' read -r -d '' -a options <.jvmopts || true
  JAR_INPUTS=$(jar_inputs) "$VENV/bin/jgo" --system-java --resolver python --gc none run --global "$SBT" "${options[@]}" -- "$@"
}

jar_inputs() {
  {
    echo "$SNAPLINE_SPARK"
    find VERSION LICENSE build.sbt project jvm python/src/snapline/settings/table.json -name target -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 cksum
  } | cksum
}

# The jar, where the Python package looks for it. sbt starts only if what the jar is made of has changed.
need_jar() {
  local inputs=$JARS/inputs-${SNAPLINE_SPARK%.*}
  [[ ! -f $inputs || $(<"$inputs") != "$(jar_inputs)" ]] || return 0
  say "Building the jar"
  sbt pythonJar
}

# The JVMs of tests are short-lived: compiling code a second time costs more than it brings.
TEST_JVM="-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"

run_pytest() {
  SPARK_SUBMIT_OPTS=${SPARK_SUBMIT_OPTS:-$TEST_JVM $(class_archive)} "$VENV/bin/pytest" -c python/pyproject.toml --rootdir . "$@"
}

# The option that gives a test's JVM the classes of Spark as they lie in memory: dozens of JVMs would each load and check 10,000.
# Made by the first run; a JVM passes over an archive that is not of its own release or class path. build/ goes with a clean tree.
class_archive() {
  local archive name
  name=$(java -version 2>&1 | cksum | cut -d' ' -f1)
  archive=$PWD/build/classes-$SNAPLINE_SPARK-$name.jsa
  if [[ ! -f $archive ]]; then
    say "Archiving the classes of Spark"
    mkdir -p build
    SPARK_SUBMIT_OPTS="$TEST_JVM -Xlog:cds=off -Xlog:cds+dynamic=off -XX:ArchiveClassesAtExit=$archive.part" \
      "$VENV/bin/python" tests/python/warm_up.py >/dev/null 2>&1 || return 0
    mv "$archive.part" "$archive" || return 0
  fi
  echo "-XX:SharedArchiveFile=$archive"
}

# Notes in build/support.tsv that a step ran, its exit status, and with which versions: scripts/pages makes the table of docs/support.md of it.
# Beside step and status: a Python, and its release of Spark, that are not those of the venv.
ran() {
  local outcome=passed java python hadoop
  [[ $2 == 0 ]] || outcome=failed
  java=$(java -version 2>&1 | sed -nE 's/.*version "([^"]+)".*/\1/p')
  read -r python hadoop < <("${3:-$VENV/bin/python}" - <<'END'
import pathlib, platform, pyspark
[jar] = (pathlib.Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
print(platform.python_version(), jar.stem.rpartition("-")[2])
END
  )
  mkdir -p build
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "${4:-$SNAPLINE_SPARK}" "$python" "$java" "$hadoop" "$outcome" \
    "$(date +%F)" "$(git describe --always --dirty 2>/dev/null || echo none)" >>build/support.tsv
}

# Spark's tests wait for half of their time, so two processes take the files, in the order in which they stand: neighbours share a session.
SIDE_BY_SIDE=(--numprocesses "${TEST_PROCESSES:-2}" --dist loadfile --no-loadscope-reorder)
