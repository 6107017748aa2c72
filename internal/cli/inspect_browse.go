package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/table"
	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/assaydb/assay/kv"
	"github.com/assaydb/assay/stores/queue"
)

// browse walks through the pairs of a store in the terminal.
func (a *app) browse(ctx context.Context, db *kv.DB, operands []string, _ inspectFlags) error {
	in, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !isTerminal(a.stdout) {
		return usage(errors.New("browse needs a terminal for input and output"), "elsewhere use: scan, get")
	}
	if os.Getenv("TERM") == "dumb" {
		return usage(errors.New("browse needs a terminal that can move its cursor, and TERM is dumb"),
			"elsewhere use: scan, get")
	}
	prefix, err := parseKey(strings.Join(operands, ""))
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx) // who leaves does not wait for what is still read
	defer stop()
	end, err := tea.NewProgram(newBrowser(reading, db, prefix), tea.WithContext(ctx), tea.WithInput(keyboard{in}),
		tea.WithOutput(a.stdout)).Run()
	switch b, ok := end.(browser); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, tea.ErrInterrupted):
		return nil
	case err != nil:
		return fmt.Errorf("browse: %w", err)
	case ok:
		return b.err
	}
	return nil
}

// browserScreen is what the browser shows.
type browserScreen int

const (
	keysScreen browserScreen = iota
	valueScreen
	prefixScreen // keys, and the prefix being typed
	storesScreen // the stores that are kept in the pairs
)

// browser shows a page of keys, or a value. A page is read when it is shown: however large the
// store is, the browser holds no more.
type browser struct {
	ctx    context.Context // of the command
	db     *kv.DB
	prefix []byte
	at     browserScreen
	page   page
	asked  int // pages that were asked for: what an earlier one comes to is not shown
	keys   table.Model
	text   viewport.Model
	input  textinput.Model
	key    []byte // of the value shown
	value  []byte
	form   int // of valueForms
	height int
	note   string
	err    error
}

// page is a part of the keys under a prefix, in order.
type page struct {
	keys   [][]byte
	sizes  []int // of the values
	before bool  // there are keys before
	after  bool  // and behind
	last   bool  // the cursor stands on the last one
}

func newBrowser(ctx context.Context, db *kv.DB, prefix []byte) browser {
	b := browser{ctx: ctx, db: db, prefix: prefix, height: 24, input: textinput.New(), text: viewport.New(),
		keys: table.New(table.WithFocused(true))}
	b.input.Prompt = "prefix: "
	b.resize(80, 24)
	return b
}

// resize lays the browser out: a line above and one below.
func (b *browser) resize(width, height int) {
	b.height = height
	b.keys.SetColumns([]table.Column{{Title: "key", Width: max(10, width-16)}, {Title: "bytes", Width: 10}})
	b.keys.SetWidth(width)
	b.keys.SetHeight(max(2, height-2))
	b.text.SetWidth(width)
	b.text.SetHeight(max(1, height-2))
}

// cut returns what of a line has room.
func (b *browser) cut(line string) string {
	line = strings.ReplaceAll(line, "\n", " ")
	if r := []rune(line); len(r) > b.text.Width() {
		return string(r[:max(0, b.text.Width())])
	}
	return line
}

// rows is how many keys a page has.
func (b *browser) rows() int { return max(1, b.height-3) }

// pageRead, valueRead and storesRead are messages: what was read of the store.
type (
	pageRead struct {
		asked int
		page  page
		err   error
	}
	valueRead struct {
		key, value []byte
		err        error
	}
	storesRead struct {
		text string
		err  error
	}
)

// Init reads the first page, which the size of the screen, told at once, asks for again.
func (b browser) Init() tea.Cmd { return b.reading(nil, false) }

// read returns what reads the page that begins at from, or, back, the one that ends before it; nil
// is the first page, or the last.
func (b *browser) read(from []byte, back bool) tea.Cmd {
	b.asked++
	return b.reading(from, back)
}

func (b *browser) reading(from []byte, back bool) tea.Cmd {
	r, n, asked, ctx, db := kv.Prefix(b.prefix), b.rows(), b.asked, b.ctx, b.db
	return func() tea.Msg {
		p, err := readPage(ctx, db, r, from, back, n)
		return pageRead{asked, p, err}
	}
}

func readPage(ctx context.Context, db *kv.DB, all kv.Range, from []byte, back bool, n int) (p page, err error) {
	r := all
	r.Reverse, r.KeysOnly, p.last = back, true, back
	switch {
	case from != nil && back:
		r.End = from
	case from != nil:
		r.Start = from
	}
	more := false
	err = db.View(ctx, func(s *kv.Snapshot) error {
		for k := range s.Keys(r) {
			if more = len(p.keys) == n; more {
				break
			}
			size, err := s.Len(k)
			if err != nil {
				return err
			}
			p.keys, p.sizes = append(p.keys, bytes.Clone(k)), append(p.sizes, size)
		}
		return nil
	})
	p.before, p.after = from != nil, more
	if back {
		p.before, p.after = more, from != nil
		slices.Reverse(p.keys)
		slices.Reverse(p.sizes)
	}
	return p, err
}

// Update does what a key or a message asks for.
func (b browser) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.resize(msg.Width, msg.Height)
		var first []byte
		if len(b.page.keys) > 0 && b.page.before {
			first = b.page.keys[0]
		}
		cmd := b.read(first, false)
		return b, cmd
	case pageRead:
		switch {
		case msg.asked != b.asked:
			return b, nil
		case msg.err != nil:
			b.err = msg.err
			return b, tea.Quit
		case len(msg.page.keys) == 0 && (msg.page.before || msg.page.after):
			cmd := b.read(nil, msg.page.before) // the keys of this page were removed meanwhile
			return b, cmd
		}
		b.show(msg.page)
		return b, nil
	case valueRead:
		return b.showValue(msg)
	case storesRead:
		return b.showStores(msg)
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			return b, tea.Quit
		}
		switch b.at {
		case valueScreen, storesScreen:
			return b.onValue(msg)
		case prefixScreen:
			return b.onPrefix(msg)
		}
		return b.onKeys(msg)
	}
	return b, nil
}

func (b *browser) show(p page) {
	b.page = p
	rows := make([]table.Row, len(p.keys))
	for i, k := range p.keys {
		quoted := strconv.Quote(string(k))
		rows[i] = table.Row{quoted[1 : len(quoted)-1], fmt.Sprint(p.sizes[i])}
	}
	b.keys.SetRows(rows)
	b.keys.GotoTop()
	if p.last {
		b.keys.GotoBottom()
	}
}

// onKeys moves in the list.
func (b browser) onKeys(msg tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	i, n := b.keys.Cursor(), len(b.page.keys)
	b.note = ""
	switch key := msg.String(); key {
	case "q", "esc":
		return b, tea.Quit
	case "/":
		b.at = prefixScreen
		b.input.SetValue("")
		return b, b.input.Focus()
	case "enter":
		if i >= 0 && i < n {
			return b, b.readValue(b.page.keys[i])
		}
	case "s":
		b.note = "looking for an event log, records and queues"
		return b, func() tea.Msg {
			text, err := describeStores(b.ctx, b.db)
			return storesRead{text, err}
		}
	case "home", "g":
		cmd := b.read(nil, false)
		return b, cmd
	case "end", "G":
		cmd := b.read(nil, true)
		return b, cmd
	case "down", "j", "pgdown", "space":
		if b.page.after && (i == n-1 || key == "pgdown" || key == "space") {
			cmd := b.read(kv.After(b.page.keys[n-1]), false)
			return b, cmd
		}
	case "up", "k", "pgup":
		if b.page.before && (i == 0 || key == "pgup") {
			cmd := b.read(b.page.keys[0], true)
			return b, cmd
		}
	}
	var cmd tea.Cmd
	b.keys, cmd = b.keys.Update(msg)
	return b, cmd
}

// onPrefix takes a prefix, as the command does.
func (b browser) onPrefix(msg tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	switch msg.String() {
	case "esc":
		b.at = keysScreen
		return b, nil
	case "enter":
		prefix, err := parseKey(b.input.Value())
		if b.at = keysScreen; err != nil {
			b.note = err.Error()
			return b, nil
		}
		b.prefix = prefix
		cmd := b.read(nil, false)
		return b, tea.Sequence(tea.ClearScreen, cmd)
	}
	var cmd tea.Cmd
	b.input, cmd = b.input.Update(msg)
	return b, cmd
}

func (b *browser) readValue(key []byte) tea.Cmd {
	return func() tea.Msg {
		v, err := b.db.Get(b.ctx, key)
		return valueRead{key, v, err}
	}
}

// mostOfValue is how many bytes of a value are shown: the forms take several times as much memory.
const mostOfValue = 1 << 20

// beginning returns what of a value is shown.
func beginning(v []byte) []byte {
	if len(v) <= mostOfValue {
		return v
	}
	n := mostOfValue
	for n > mostOfValue-utf8.UTFMax && !utf8.RuneStart(v[n]) {
		n--
	}
	return v[:n]
}

// showValue shows a value in the first form that fits it.
func (b browser) showValue(msg valueRead) (tea.Model, tea.Cmd) {
	switch {
	case b.at != keysScreen:
		return b, nil // who asked for it is elsewhere
	case errors.Is(msg.err, kv.NotFound):
		b.note = "deleted meanwhile"
		return b, nil
	case msg.err != nil:
		b.err = msg.err
		return b, tea.Quit
	}
	b.at, b.key, b.value, b.form = valueScreen, msg.key, msg.value, 0
	for b.fill(); b.text.GetContent() == ""; b.fill() {
		b.form++
	}
	return b, tea.ClearScreen
}

// valueForms are ways to show a value. A form returns "" where it does not fit.
var valueForms = []struct {
	name string
	show func(v []byte) string
}{
	{"json", func(v []byte) string {
		var out bytes.Buffer
		if len(v) == 0 || v[0] != '{' && v[0] != '[' || json.Indent(&out, v, "", "  ") != nil {
			return ""
		}
		return lines(out.Bytes())
	}},
	{"text", func(v []byte) string {
		if text, _ := textOrBytes(v); text == nil || len(v) == 0 {
			return ""
		}
		return lines(v)
	}},
	{"hex", func(v []byte) string {
		if len(v) == 0 {
			return "(empty)"
		}
		return strings.TrimSuffix(hex.Dump(v), "\n")
	}},
}

// lines returns a text whose lines are kept and whose other signs are shown or replaced.
func lines(v []byte) string {
	var out []string
	for line := range bytes.SplitSeq(v, []byte("\n")) {
		out = append(out, string(printable(bytes.ReplaceAll(line, []byte("\t"), []byte("    ")))))
	}
	return strings.Join(out, "\n")
}

func (b *browser) fill() {
	b.text.SetContent(valueForms[b.form].show(beginning(b.value)))
	b.text.GotoTop()
}

// onValue moves in a value, or shows it in another form.
func (b browser) onValue(msg tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	switch key := msg.String(); key {
	case "q", "esc", "backspace", "left":
		b.at = keysScreen
		return b, tea.ClearScreen
	case "tab":
		if b.at == storesScreen {
			return b, nil
		}
		b.form = (b.form + 1) % len(valueForms)
		b.fill()
		return b, tea.ClearScreen
	}
	var cmd tea.Cmd
	b.text, cmd = b.text.Update(msg)
	return b, cmd
}

// describeStores tells of the event log, the collections and the queues that are kept in db, "" if
// there are none.
func describeStores(ctx context.Context, db *kv.DB) (string, error) {
	var out bytes.Buffer
	a := app{stdout: &out, stderr: io.Discard}
	f := inspectFlags{queueFlags: queueFlags{limit: 1000}}
	for _, show := range []func(context.Context, *kv.DB, []string, inspectFlags) error{a.streams, a.subscriptions,
		a.collections, a.queuesIn} {
		before := out.Len()
		err := show(ctx, db, nil, f)
		if err != nil && !errors.Is(err, kv.NotFound) && !errors.Is(err, kv.Corrupt) { // pairs of something else
			return "", err
		}
		if out.Len() > before {
			out.WriteString("\n")
		}
	}
	return out.String(), nil
}

// queuesIn shows the queues in db, if there are any.
func (a *app) queuesIn(ctx context.Context, db *kv.DB, _ []string, _ inspectFlags) error {
	store, err := queue.New(db, nil)
	if err != nil {
		return err
	}
	return errors.Join(a.showQueues(ctx, store, queueTask{}), store.Close())
}

func (b browser) showStores(msg storesRead) (tea.Model, tea.Cmd) {
	switch {
	case b.at != keysScreen:
		return b, nil
	case msg.err != nil:
		b.note = msg.err.Error()
		return b, nil
	case msg.text == "":
		b.note = "no event log, records or queues; those in a namespace need --namespace"
		return b, tea.ClearScreen
	}
	b.at, b.note = storesScreen, ""
	b.text.SetContent(lines([]byte(msg.text)))
	b.text.GotoTop()
	return b, tea.ClearScreen
}

// View draws the browser on a screen of its own, which leaves what the terminal showed as it was.
func (b browser) View() tea.View {
	var top, body, bottom string
	switch b.at {
	case storesScreen:
		top, body = "what is kept in these pairs", b.text.View()
		bottom = "up, down: move   esc: the keys   ctrl+c: quit"
	case valueScreen:
		top = fmt.Sprintf("%q, %d bytes, as %s", b.key, len(b.value), valueForms[b.form].name)
		if n := len(beginning(b.value)); n < len(b.value) {
			top = fmt.Sprintf("%q, %d bytes, of which the first %d as %s", b.key, len(b.value), n, valueForms[b.form].name)
		}
		if body = b.text.View(); b.text.GetContent() == "" {
			body = "it is no " + valueForms[b.form].name + strings.Repeat("\n", max(0, b.height-3))
		}
		bottom = "up, down: move   tab: json, text, hex   esc: the keys   ctrl+c: quit"
	default:
		top = fmt.Sprintf("%s %s", b.db.Engine(), b.db.Path())
		if len(b.prefix) > 0 {
			top += fmt.Sprintf("   keys that begin with %q", b.prefix)
		}
		if body = b.keys.View(); len(b.page.keys) == 0 {
			body = "no keys" + strings.Repeat("\n", max(0, b.height-3))
		}
		bottom = "arrows, pgup, pgdn, home, end  enter: value  /: prefix  s: stores  q: quit"
	}
	switch {
	case b.at == prefixScreen:
		bottom = b.input.View()
	case b.note != "":
		bottom = b.cut(b.note)
	}
	v := tea.NewView(b.cut(top) + "\n" + body + "\n" + bottom)
	v.AltScreen = true
	return v
}
