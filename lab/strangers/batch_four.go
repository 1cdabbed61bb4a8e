package main

// batchFour are reproductions of what was found, in less time.
func batchFour() []spec {
	return []spec{
		springWaits(),
		renews("renews", "c", "renew:", false, 90*sec),
		moved("moved-quick", "m", false),
		moved("moved-kept", "k", true),
		renews("renews-expire", "x", "rex:", true, 0),
	}
}

// moved has messages that are moved by hand.
func moved(name, server string, keep bool) spec {
	return spec{
		name: name, topology: topology{more: queue(name+".aside", nil)}, traffic: traffic{rate: 14, again: 0.04}, meanwhile: move(keep),
		consumer: consumer{instances: 2, prefetch: 10}, job: job{median: 40 * ms, sigma: 0.5, failFirst: 0.02},
		reaction: quick(), store: texts(server, name+":", ""),
	}
}
