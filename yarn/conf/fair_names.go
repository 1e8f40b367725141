package conf

import "strings"

// Settings of a queue that are read and have no effect, and why.
var fairInert = func() map[string]string {
	why := map[string]string{}
	for reason, names := range map[string]string{
		"preemption is not modelled": "minSharePreemptionTimeout fairSharePreemptionTimeout fairSharePreemptionThreshold allowPreemptionFrom " +
			"defaultMinSharePreemptionTimeout defaultFairSharePreemptionTimeout defaultFairSharePreemptionThreshold",
		"access lists are not modelled":                    "aclSubmitApps aclAdministerApps aclAdministerReservations aclListReservations aclSubmitReservations",
		"reservations of capacity are not modelled":        "reservation reservation-agent reservation-policy reservation-planner",
		"the largest container of a queue is not modelled": "maxContainerAllocation",
	} {
		for name := range strings.FieldsSeq(names) {
			why[name] = reason
		}
	}
	return why
}()

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
