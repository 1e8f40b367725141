package hostlock

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestOneHolderOfAName(t *testing.T) {
	name := t.Name() + strings.Repeat("x", 300)
	first, err := Take(name)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Take(name); !errors.As(err, &held) || held.PID != os.Getpid() || held.UID != os.Getuid() {
		t.Errorf("a second holder: %v", err)
	}
	other, err := Take(name + "y")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(name)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
