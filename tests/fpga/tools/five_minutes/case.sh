# SPDX-License-Identifier: Apache-2.0
# FIVE_MINUTES.md, sections 2 and 4: its commands work as they stand there and print what stands below them.
clone=$1
document=$clone/drivers/emulation/FIVE_MINUTES.md

# section NUMBER: its indented commands go to commands.NUMBER, what the blocks right below them promise to promised.NUMBER.
section() {
  awk -v number="$1" '
    /^## / { inside = ($2 == number ".") }
    !inside { next }
    /^```/ { fence = !fence; next }
    fence { if (below) print > ("promised." number); next }
    /^    / { print substr($0, 5) > ("commands." number); below = 1; next }
    /./ { below = 0 }' "$document"
}

for number in 2 4; do section $number; done
[ "$(wc -l <promised.4)" -eq 13 ] || fail "section 4 is not read as it is written"
# Cases that run beside this one have scopes of their own.
sed "s/=demo$/=demo$$/" commands.2 commands.4 >commands
. ./commands >printed 2>&1 || fail "$(cat printed)"
# Two processes at once print in any order, and get the memory that the other left. XRT prints a head before its first message.
head='^(XRT build version|Build (version|hash|date)|Git branch|PID|UID|HOST|EXE): |^\[.* GMT\]$'
plain() { sed 's/^out at: .*/out at/' "$@" | grep -vE "$head" | sort; }
diff <(plain promised.2 promised.4) <(plain printed) >&2 || fail "other lines are printed than the document says"

# Section 1 says what a card is called that nobody described.
unset TANDEM_CARD_SCOPE
rm emconfig.json
grep -qF "$(xbutil examine | tail -1)" "$document" || fail "section 1 shows another card than $(xbutil examine | tail -1)"
