"""The message bus on Kafka, by librdkafka."""
