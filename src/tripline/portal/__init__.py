"""The portal: pages for people, over the same services, permissions and refusals as REST."""
