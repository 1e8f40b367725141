package marp

import (
	_ "embed"
	"sync"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

// published is what the source prints of one benchmark under one variant.
type published struct {
	Lower, Upper, IQR, LowExtreme, HighExtreme, Median, Mean, Half float64
	Outliers                                                       string
}

// printed is what the source prints, by experiment and variant.
type printed struct {
	Tables map[string]map[string]published
	Gains  map[string]map[string][6]float64
}

//go:embed paper.yaml
var paperFile []byte

var paper = sync.OnceValue(func() *printed { return yamlfile.Decode[printed](paperFile) })

// The source's three controllers and its baseline, in its order.
var sourceNames = []string{"prj", "cbt", "cbtws", "cbtwat"}
