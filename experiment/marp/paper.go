package marp

// published is what the source prints of one benchmark: statistics of the batch times in seconds.
type published struct {
	lower, upper, iqr, lowExtreme, highExtreme, median, mean, half float64
	outliers                                                       string
}

// The source's three controllers and its baseline, in its order.
var sourceNames = []string{"prj", "cbt", "cbtws", "cbtwat"}

// sourceTables are its box plots by experiment.
var sourceTables = map[string]map[string]published{
	"E7": {
		"prj":    {761.0, 810.0, 49.0, 724.3, 827.2, 778.4, 782.5, 8.64, "-"},
		"cbt":    {673.3, 723.0, 49.7, 627.0, 784.2, 691.0, 696.5, 11.5, "-"},
		"cbtws":  {626.0, 661.3, 35.3, 583.0, 709.0, 638.9, 641.3, 10.2, "568; 724.8"},
		"cbtwat": {600.6, 660.6, 60.0, 586.0, 743.3, 618.5, 634.4, 12.6, "-"},
	},
	"E8": {
		"prj":    {886.3, 921.8, 35.5, 850.5, 943.5, 907.6, 920.3, 23.3, "1123.3; 1164.8; 1209.6"},
		"cbt":    {751.8, 789.6, 37.8, 714.0, 819.0, 769.8, 767.3, 8.5, "-"},
		"cbtws":  {676.3, 734.8, 58.5, 624.2, 800.8, 710.9, 706.0, 12.7, "-"},
		"cbtwat": {666.2, 717.1, 50.9, 627.3, 764.6, 696.5, 694.9, 10.4, "-"},
	},
	"E9": {
		"prj":    {813.3, 857.5, 44.2, 805.6, 889.1, 843.1, 856.2, 40.2, "one, value not given"},
		"cbt":    {769.0, 813.3, 44.3, 751.0, 821.9, 792.0, 793.1, 13.4, "881.3"},
		"cbtws":  {741.6, 777.5, 35.9, 720.9, 813.7, 754.2, 750.8, 23.4, "-"},
		"cbtwat": {718.8, 794.6, 75.8, 672.1, 822.6, 759.1, 755.5, 13.6, "-"},
	},
}

// sourceGains are its improvements over PRJ in percent, in the order of gainNames.
var sourceGains = map[string]map[string][6]float64{
	"E7": {
		"cbt":    {10.9, 11.2, 5.2, 13.4, 24.2, -8.2},
		"cbtws":  {18.0, 17.9, 14.2, 19.5, 29.5, 2.1},
		"cbtwat": {18.9, 20.5, 10.1, 19.0, 29.1, -2.5},
	},
	"E8": {
		"cbt":    {16.6, 15.2, 13.2, 16.0, 24.3, 3.7},
		"cbtws":  {23.3, 21.7, 15.1, 26.6, 33.8, 5.8},
		"cbtwat": {24.5, 23.2, 19.0, 26.2, 33.5, 10.1},
	},
	"E9": {
		"cbt":    {7.3, 6.0, 7.5, 6.7, 15.5, -2.0},
		"cbtws":  {12.3, 10.5, 8.5, 10.5, 18.9, -1.0},
		"cbtwat": {11.7, 10.0, 7.5, 16.5, 24.4, -2.1},
	},
}

// bands are the improvements that a simulator which was set by PRJ alone is expected to show, as shares.
var bands = map[string][2]float64{"cbt": {0.05, 0.20}, "cbtws": {0.10, 0.27}, "cbtwat": {0.10, 0.28}}
