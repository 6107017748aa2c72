package report

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/assaydb/assay/lab/result"
)

// The pictures in docs are made by
//
//	go test ./lab/report -run TestPictures -pictures ../../docs -result DIR -growing DIR -site DIR
//
// of a default run, of one that docs/report.md names, and of what assay site wrote.
var (
	pictures = flag.String("pictures", "", "write pictures of pages to this folder")
	shown    = flag.String("result", "", "the result of which report-*.png are")
	growing  = flag.String("growing", "", "the result of which growth-*.png are, with operations at several numbers")
	site     = flag.String("site", "", "the folder of which site-*.png are")
)

// picture is a part of a page as a reader sees it.
type picture struct {
	name, media, theme string
	width, height      int64
	at                 string // what is at the top
}

func TestPicturesOfARun(t *testing.T) {
	picturesOf(t, *shown, "report", []picture{
		{"wide", "screen", "light", 1280, 1000, "body"}, {"charts", "screen", "light", 1280, 900, "nav + section"},
		{"dark", "screen", "dark", 1280, 900, "#costs"},
		{"narrow", "screen", "light", 390, 844, "body"}, {"narrow-dark", "screen", "dark", 390, 844, "nav + section"},
		{"print", "print", "light", 794, 1123, "body"},
	})
}

func TestPicturesOfGrowth(t *testing.T) {
	const charts = "#growth"
	picturesOf(t, *growing, "growth", []picture{
		{"wide", "screen", "light", 1280, 900, charts}, {"dark", "screen", "dark", 1280, 900, charts},
		{"narrow", "screen", "light", 390, 844, charts}, {"print", "print", "light", 794, 1123, charts},
	})
}

// picturesOf takes pictures of the page of a result.
func picturesOf(t *testing.T, dir, name string, all []picture) {
	if *pictures == "" || dir == "" {
		t.Skip("no folder for pictures, or no result of which they are")
	}
	run, err := result.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	takeAll(t, pageFile(t, run), name, all)
}

func TestPicturesOfASite(t *testing.T) {
	if *pictures == "" || *site == "" {
		t.Skip("no folder for pictures, or no site of which they are")
	}
	index, err := filepath.Abs(filepath.Join(*site, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	takeAll(t, "file://"+filepath.ToSlash(index), "site", []picture{
		{"wide", "screen", "light", 1280, 900, "body"}, {"dark", "screen", "dark", 1280, 900, "#beside"},
		{"narrow", "screen", "light", 390, 844, "body"}, {"print", "print", "light", 794, 1123, "body"},
	})
}

// takeAll writes pictures of a page, and says how long they are.
func takeAll(t *testing.T, address, of string, all []picture) {
	ctx, _ := browser(t)
	for _, p := range all {
		data := fewColors(t, p.take(t, ctx, address))
		file := filepath.Join(*pictures, of+"-"+p.name+".png")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", file, len(data))
	}
}

func (p picture) take(t *testing.T, ctx context.Context, address string) []byte {
	t.Helper()
	do(t, ctx, chromedp.EmulateViewport(p.width, p.height), inTheme(p.media, p.theme), chromedp.Navigate(address))
	if p.media == "print" { // the margins of a sheet, which only a printer has
		evaluate[string](t, ctx, `document.body.style.padding = "12mm"`)
	}
	evaluate[bool](t, ctx, fmt.Sprintf(`document.querySelector(%q).scrollIntoView() === undefined`, p.at))
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// near reports whether no part of two colours differs by more than apart.
func near(a, b color.RGBA, apart int) bool {
	off := func(x, y uint8) bool { return max(int(x)-int(y), int(y)-int(x)) > apart }
	return !off(a.R, b.R) && !off(a.G, b.G) && !off(a.B, b.B)
}

// fewColors returns a picture in 256 of its colours, those that are apart and frequent: a third as
// long, and alike to the eye.
func fewColors(t *testing.T, data []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.RGBA]int{}
	for y := from.Bounds().Min.Y; y < from.Bounds().Max.Y; y++ {
		for x := from.Bounds().Min.X; x < from.Bounds().Max.X; x++ {
			seen[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	order := make([]color.RGBA, 0, len(seen))
	for c := range seen {
		order = append(order, c)
	}
	slices.SortFunc(order, func(a, b color.RGBA) int {
		return cmp.Or(seen[b]-seen[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	var colors color.Palette
	for apart := 24; apart >= 0 && len(colors) < 256; apart -= 8 { // a dot's colour is rare, and unlike others
		for _, c := range order {
			alike := func(o color.Color) bool { return near(c, o.(color.RGBA), apart) }
			if len(colors) < 256 && !slices.ContainsFunc(colors, alike) {
				colors = append(colors, c)
			}
		}
	}
	to := image.NewPaletted(from.Bounds(), colors)
	draw.Draw(to, to.Bounds(), from, from.Bounds().Min, draw.Src)
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, to); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
