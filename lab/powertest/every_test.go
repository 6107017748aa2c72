package powertest_test

import (
	"strings"
	"testing"

	"github.com/assaydb/assay/lab/powertest"
)

func TestEveryCutOfAStoreThatSyncs(t *testing.T) {
	states, objections := powertest.EveryCut(t, file{}.power(), 0)
	if len(objections) > 0 || states < lines {
		t.Errorf("%d states, %d objections: %q", states, len(objections), objections)
	}
}

func TestEveryCutFindsWhatIsAcknowledgedTooEarly(t *testing.T) {
	c := file{fault: "acknowledges before it syncs"}.power()
	_, objections := powertest.EveryCut(t, c, 0)
	// Before each sync the line may be lost that is told of already.
	if len(objections) < lines || !strings.Contains(objections[0], `before sync lines`) ||
		!strings.Contains(objections[0], `"line 0" is lost`) {
		t.Errorf("%d objections: %q", len(objections), objections)
	}
}
