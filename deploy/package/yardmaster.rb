class Yardmaster < Formula
  desc "Rehearse a scheduling change on your own cluster's history, then run it live"
  homepage "https://github.com/yardmaster/yardmaster"
  version "@version@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/yardmaster/yardmaster/releases/download/v#{version}/yardmaster_#{version}_darwin_arm64.tar.gz"
      sha256 "@darwin_arm64@"
    end
    on_intel do
      url "https://github.com/yardmaster/yardmaster/releases/download/v#{version}/yardmaster_#{version}_darwin_amd64.tar.gz"
      sha256 "@darwin_amd64@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/yardmaster/yardmaster/releases/download/v#{version}/yardmaster_#{version}_linux_arm64.tar.gz"
      sha256 "@linux_arm64@"
    end
    on_intel do
      url "https://github.com/yardmaster/yardmaster/releases/download/v#{version}/yardmaster_#{version}_linux_amd64.tar.gz"
      sha256 "@linux_amd64@"
    end
  end

  def install
    bin.install "yardmaster"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completions/yardmaster.bash" => "yardmaster"
    zsh_completion.install "completions/yardmaster.zsh" => "_yardmaster"
    fish_completion.install "completions/yardmaster.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/yardmaster version")
    system bin/"yardmaster", "demo", "-o", testpath/"demo.html"
  end
end
