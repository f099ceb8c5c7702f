"""The image side: stored vectors -> vectors of the joint space."""
