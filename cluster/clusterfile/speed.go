package clusterfile

import (
	"strconv"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

// number reads a number that is not negative into p.
func number(p *float64) func(*yamlfile.Node) error {
	return yamlfile.Value(func(v *yamlfile.Node, text string) error {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0 && f <= cluster.MaxRoom) {
			return v.Errorf("%q is not a number from 0 to 2^40", text)
		}
		*p = f
		return nil
	})
}

// readSpeed reads a number, the name of a model, or a curve.
func readSpeed(p **cluster.Speed) func(*yamlfile.Node) error {
	return func(v *yamlfile.Node) error {
		s := &cluster.Speed{}
		switch {
		case v.Shape == yamlfile.Scalar && v.Text == cluster.ScaleUp:
			s = cluster.ScaleUpSpeed()
		case v.Shape == yamlfile.Scalar:
			f, err := strconv.ParseFloat(v.Text, 64)
			if err != nil {
				return v.Errorf("%q is neither a number nor %s", v.Text, cluster.ScaleUp)
			}
			s.Small = f
		default:
			keys := yamlfile.Keys{"small": number(&s.Small), "even": number(&s.Even), "large": number(&s.Large), "cross": func(n *yamlfile.Node) error {
				values, err := n.Values()
				for _, one := range values {
					c, wrong := cluster.ParseCross(one.Text)
					if wrong != nil {
						return one.Errorf("%v", wrong)
					}
					s.Cross = append(s.Cross, c)
				}
				return err
			}}
			if err := v.Read("a speed", []string{"small", "even", "large", "cross"}, keys); err != nil {
				return err
			}
			if len(s.Cross) == 0 {
				return v.Errorf("needs cross points, as in cross: [32GB@1, 64GB@1.6]; or write one number")
			}
		}
		if err := s.Validate(); err != nil {
			return v.Errorf("%v", err)
		}
		*p = s
		return nil
	}
}
