#!/usr/bin/env bash
# Makes pictures of what assay prints, in a terminal's colours: docs/pictures.sh RESULT, a folder that assay run --out wrote, those of
# the last screen of that run; docs/pictures.sh watch those of assay watch beside examples/observe; docs/pictures.sh proof those of
# the proof that is built in. It needs a headless Chromium and the font DejaVu Sans Mono (Debian: chromium, fonts-dejavu-core).
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1-} in
watch | proof) what=$1 ;;
*) what=run result=$(realpath "${1:?name a result, watch or proof}") ;;
esac
cd "$(dirname "$0")"
(cd .. && go build -o "$work/assay" ./cmd/assay)

# html COLUMNS LINES THEME: the last LINES of standard input as a page.
html() {
	local back=#16181d fore=#d8dbe2 red=#f14c4c green=#23d18b yellow=#e5c07b blue=#3b8eea cyan=#29b8db
	[ "$3" = dark ] || back=#ffffff fore=#24292f red=#cd3131 green=#107c10 yellow=#8a6100 blue=#0451a5 cyan=#006d8f
	cat <<-PAGE
		<meta charset="utf-8"><style>
		body { margin: 0; background: $back } pre { margin: 0; padding: 12px 14px; color: $fore; font: 15px/19px "DejaVu Sans Mono" }
		i { font-style: normal } .b { font-weight: bold } .d { opacity: .65 }
		.red { color: $red } .green { color: $green } .yellow { color: $yellow } .blue { color: $blue } .cyan { color: $cyan }
		</style><pre>
	PAGE
	tail -n "$(($2 - 1))" |
		sed -e 's/&/\&amp;/g; s/</\&lt;/g' -e 's/\x1b\[1;36m/<i class="b cyan">/g; s/\x1b\[1;32m/<i class="b green">/g' \
			-e 's/\x1b\[2m/<i class="d">/g; s/\x1b\[31m/<i class="red">/g; s/\x1b\[32m/<i class="green">/g' \
			-e 's/\x1b\[33m/<i class="yellow">/g; s/\x1b\[34m/<i class="blue">/g; s/\x1b\[m/<\/i>/g'
	echo '$ </pre>'
}

# picture NAME COLUMNS LINES COMMAND...: what the command prints in a terminal of that size, light and dark, and no empty lines below
# it. LINES "all" is as many as it prints.
picture() {
	local name=$1 columns=$2 lines=$3 theme printed
	shift 3
	CLICOLOR_FORCE=1 LC_ALL=C.UTF-8 COLUMNS=$columns LINES=${lines/all/60} "$@" >"$work/text"
	printed=$(($(wc -l <"$work/text") + 1))
	[ "$lines" != all ] && [ "$lines" -lt "$printed" ] || lines=$printed
	for theme in light dark; do
		html "$columns" "$lines" "$theme" <"$work/text" >"$work/page.html"
		chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1.5 \
			--window-size=$((columns * 903 / 100 + 30)),$((lines * 19 + 24)) --screenshot="$work/shot.png" "file://$work/page.html" >/dev/null 2>&1
		mv "$work/shot.png" "$name-$theme.png"
	done
}

# watch: the last screen of assay watch, which looks at the example for ten seconds from a terminal. Its folder is shown as /srv.
watch() {
	local program
	(cd ../examples/observe && go build -trimpath -o "$work/orders" .)
	(cd "$work" && exec ./orders -http localhost:0 2>/dev/null) &
	program=$!
	until [ -S "$work/data/orders.observe" ]; do sleep 0.1; done
	(cd "$work" && script -qec "stty cols $COLUMNS rows $LINES; timeout -s INT 12 ./assay watch data/orders" /dev/null) |
		sed -e '1,/\x1b\[?1049l/{/\x1b\[?1049l/!d}' -e 's/.*\x1b\[?1049l//; s/\x1b\[K//; s/\r$//; /interrupted$/d' -e "s|$work|/srv|" || true
	kill "$program"
	wait "$program" || true
}

# proof: the table of the proof and what it says in a sentence, without how much was tried.
proof() { "$work/assay" engines --proof | sed '/How much was tried/,$d'; }

if [ $what != run ]; then
	picture $what 110 all $what
	exit
fi
mkdir -p "$work/assay-cache/assay/results"
cp -r "$result" "$work/assay-cache/assay/results/newest"
for size in 80x24 120x45; do
	picture "run-$size" "${size%x*}" "${size#*x}" env XDG_CACHE_HOME="$work/assay-cache" "$work/assay" report
done
