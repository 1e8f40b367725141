package conf

// Settings of a queue that are read and have no effect, and why.
var fairInert = map[string]string{
	"minSharePreemptionTimeout":           "preemption is not modelled",
	"fairSharePreemptionTimeout":          "preemption is not modelled",
	"fairSharePreemptionThreshold":        "preemption is not modelled",
	"allowPreemptionFrom":                 "preemption is not modelled",
	"defaultMinSharePreemptionTimeout":    "preemption is not modelled",
	"defaultFairSharePreemptionTimeout":   "preemption is not modelled",
	"defaultFairSharePreemptionThreshold": "preemption is not modelled",
	"aclSubmitApps":                       "access lists are not modelled",
	"aclAdministerApps":                   "access lists are not modelled",
	"aclAdministerReservations":           "access lists are not modelled",
	"aclListReservations":                 "access lists are not modelled",
	"aclSubmitReservations":               "access lists are not modelled",
	"reservation":                         "reservations of capacity are not modelled",
	"reservation-agent":                   "reservations of capacity are not modelled",
	"reservation-policy":                  "reservations of capacity are not modelled",
	"reservation-planner":                 "reservations of capacity are not modelled",
	"maxContainerAllocation":              "the largest container of a queue is not modelled",
}

var (
	fairQueueWords = []string{"queue", "pool", "weight", "minResources", "maxResources", "maxChildResources", "maxRunningApps",
		"maxAMShare", "schedulingPolicy", "schedulingMode", "minSharePreemptionTimeout", "fairSharePreemptionTimeout",
		"fairSharePreemptionThreshold", "allowPreemptionFrom", "aclSubmitApps", "aclAdministerApps", "reservation",
		"maxContainerAllocation"}
	fairTopWords = []string{"queue", "pool", "user", "userMaxAppsDefault", "queueMaxAppsDefault", "queueMaxAMShareDefault",
		"queueMaxResourcesDefault", "defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode", "queuePlacementPolicy",
		"defaultMinSharePreemptionTimeout", "defaultFairSharePreemptionTimeout", "defaultFairSharePreemptionThreshold",
		"fairSharePreemptionTimeout"}
)
