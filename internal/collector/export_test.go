package collector

// TopicMatches is topicMatches, for tests against a real broker.
func TopicMatches(pattern, key string) bool { return topicMatches(pattern, key) }
